-- An export asks which events of its trees wait.
create index quarantine_stream on quarantine (stream);
