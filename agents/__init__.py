"""The specialists behind one port: they propose and explain; they never decide acceptance."""
