"""Records agents that are not changed: their client of OpenAI's protocol asks the installation, which asks the model server."""
