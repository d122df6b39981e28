"""An independent judge of datasets. It reads only files and shares no code with what wrote them."""
