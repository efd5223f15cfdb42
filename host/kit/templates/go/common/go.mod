module plugin.local/@NAME@

go 1.24
