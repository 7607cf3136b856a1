"""Steps with contacts: geometry, friction cones, and the step itself."""
