"""The designs: ways to hold combinations out. One module each; the registry names them."""
