"""Parts of the page of one subject of the schema registry."""
