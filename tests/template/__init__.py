"""What must hold of template.yaml, whatever is changed in it: `make check` runs the rules, `make test` weakens them."""
