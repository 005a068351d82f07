"""Stations of which tests ask."""

TOWNS = {
    "Toulouse": (43.6, 1.4),
    "Auckland": (-36.9, 174.8),
    "New York, NY": (40.7, -74.0),
    "Nairobi": (-1.3, 36.8, 1700.0),
}
CSV = """name,latitude_deg,longitude_deg,altitude_m
Toulouse,43.6,1.4,
Auckland,-36.9,174.8,0
"New York, NY",40.7,-74.0,0
Nairobi,-1.3,36.8,1700
"""
