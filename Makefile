# An index of commands. Each prepares the machine by itself and works from a fresh clone.
.PHONY: demo native test long check bench release fmt lint
demo:    ; @tools/setup demo && go run ./magid demo && go run ./tools/cmd/demo
native:  ; @tools/setup test && ls -d $(CURDIR)/tools/native/installed/*
test:    ; @tools/setup test && go run ./tools/cmd/check -run test
long:    ; @tools/setup test && go run ./tools/cmd/check -run test -long
check:   ; @tools/setup test && go run ./tools/cmd/check
bench:   ; @tools/setup test && go run ./tools/cmd/check -bench
release: ; @tools/setup test && go run ./tools/cmd/release
fmt:     ; @go run ./tools/cmd/check -run gofmt,fix -write
lint:    ; @GOWORK=off go build -C tools/ext -o $(CURDIR)/.ci/cache/ tool && .ci/cache/golangci-lint run $$(go list -m -f "{{.Dir}}/...")
