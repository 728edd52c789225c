"""Questions to a cluster and changes to it, through a Kafka client: what the command line and the console share. Prints nothing, draws nothing."""
