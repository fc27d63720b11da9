"""What tests of the command line share."""
