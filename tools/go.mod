module github.com/magi-jig/magi-jig/tools

go 1.26.0

// What is installed there is not Go's.
ignore ./native

require (
	github.com/go-json-experiment/json v1.27.2
	github.com/rogpeppe/go-internal v1.16.0
	github.com/stretchr/testify v1.12.1
	github.com/tidwall/gjson v1.20.3
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/mod v0.43.0
	golang.org/x/sys v0.50.0
)

require (
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.3.0 // indirect
)

require golang.org/x/tools v0.52.0 // indirect
