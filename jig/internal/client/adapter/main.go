package adapter

// Exit codes of the adapter. Its own exit is no evidence of the client's.
const (
	exitDone   = 0  // the conversation ended and the client is gone
	exitHost   = 1  // the host's side failed
	exitFrame  = 70 // the launch frame was refused; nothing was started
	exitLaunch = 71 // the client could not be prepared or started
)

// Command is the first argument of the jig binary as an adapter.
const Command = "__adapter"

// evidence is the descriptor of the socket to the host.
const evidence = 3
