module github.com/magi-jig/magi-jig/tools

go 1.26.0

require (
	github.com/go-json-experiment/json v1.27.2
	go.yaml.in/yaml/v3 v3.0.6
	golang.org/x/mod v0.43.0
)
