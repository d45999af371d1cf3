"""Stand-ins for the vendor's visa tools: small programs that behave as the notes say, misbehaviour included."""
