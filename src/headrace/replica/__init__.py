"""Partitions on this node, and the cluster image with its log."""
