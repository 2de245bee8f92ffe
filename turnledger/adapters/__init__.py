"""One file an ecosystem, each behind an extra, each as thin as it can be over the face."""
