"""Values for the scalars of our GraphQL schema that Schemathesis does not know."""

import schemathesis
from graphql import IntValueNode, StringValueNode
from hypothesis import strategies as st

schemathesis.graphql.scalar("SafeInt", st.integers(-(2**53), 2**53).map(lambda value: IntValueNode(value=str(value))))
schemathesis.graphql.scalar("JSON", st.text().map(lambda value: StringValueNode(value=value)))
