"""One interactive HTML page without the network: its frame, charts, tables and colours.

Figures are drawn in the browser by BokehJS, which ships inside the package bokeh and is written
into the page. May import run, config and console.
"""
