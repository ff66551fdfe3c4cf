"""FedSEM and its k-means over models."""
