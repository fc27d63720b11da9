"""What tests are made of: fake AWS services, an oracle that knows nothing of the design, faults and builders."""
