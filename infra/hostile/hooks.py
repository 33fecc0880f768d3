"""What Schemathesis does not know of our GraphQL schema: its scalars, and the codes of its errors."""

import schemathesis
from graphql import IntValueNode, StringValueNode
from hypothesis import strategies as st

schemathesis.graphql.scalar("SafeInt", st.integers(-(2**53), 2**53).map(lambda value: IntValueNode(value=str(value))))
schemathesis.graphql.scalar("JSON", st.text().map(lambda value: StringValueNode(value=value)))

FAULTS = {"INTERNAL_SERVER_ERROR", "UNAVAILABLE"}


@schemathesis.check
def no_graphql_fault(ctx, response, case):
    if not case.path.endswith("/graphql") or response.headers["content-type"][0].startswith("text/"):
        return
    assert response.status_code < 500, f"answered {response.status_code}"
    for error in response.json().get("errors", []):
        code = error.get("extensions", {}).get("code")
        assert code not in FAULTS, f"{code}: {error['message']}"
        assert error["message"], "a refusal has its reason"
