"""What training never shows: bindings, relation triples, blocks, class lists, designs and splits."""
