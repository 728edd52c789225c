"""The coordinators without I/O."""
