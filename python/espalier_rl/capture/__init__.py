"""Records agents that are not changed: the calls of models that their process makes, as they pass through its HTTP client."""
