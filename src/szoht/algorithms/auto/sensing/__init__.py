"""Which coordinates matter, and how steep f is along them."""
