"""The transaction coordinator, which decides and does nothing: requests in, records, markers and answers out."""
