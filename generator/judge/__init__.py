"""An independent judge of datasets: reads only files, shares no code with what wrote them."""
