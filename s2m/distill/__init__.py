"""TactSet: a student that feels the balls, distilled by DAgger from a teacher that sees them."""
