"""Claims, probes, rules, lessons: how they are made, checked, matched, trusted, and rechecked."""
