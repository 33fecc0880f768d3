"""A dense retriever: a corpus and an encoder become an index of faiss, which is served by Search-R1's protocol (extra `retrieval`)."""
