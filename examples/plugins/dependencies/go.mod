module plugin.local/dependencies

go 1.24
