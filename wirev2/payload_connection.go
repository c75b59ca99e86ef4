package wirev2

// Capability is a token of initialize.
type Capability string

// The profile's token and the two retired ones, which reject initialization. (seed: Application resources)
const (
	CapabilityApplicationResources Capability = "application_resources_v1"
	CapabilityRetiredInline        Capability = "application_callbacks_inline_v1"
	CapabilityRetiredSession       Capability = "application_callbacks_session_v1"
)

// ClientInfo names the program that connects.
type ClientInfo struct {
	Name    string `json:"name"`    // 1 to 64 bytes
	Version string `json:"version"` // 1 to 64 bytes
}

// DaemonInfo names the daemon.
type DaemonInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// InitializeRequest is the payload of initialize.
type InitializeRequest struct {
	Client                ClientInfo   `json:"client"`
	RequestedCapabilities []Capability `json:"requested_capabilities"` // at most 32, no duplicates
}

// InitializeReply is the reply to initialize.
type InitializeReply struct {
	Daemon                 DaemonInfo   `json:"daemon"`
	NegotiatedCapabilities []Capability `json:"negotiated_capabilities"`
	Capabilities           Capabilities `json:"capabilities"`
}

// CapabilitiesRequest is the payload of capabilities.
type CapabilitiesRequest struct{}

// Capabilities is what this connection may do; also the reply to capabilities.
type Capabilities struct {
	NegotiatedCapabilities []Capability          `json:"negotiated_capabilities"`
	Operations             []Method              `json:"operations"` // sorted
	Events                 []EventName           `json:"events"`     // sorted
	Limits                 Limits                `json:"limits"`
	ApplicationCallbacks   *ApplicationCallbacks `json:"application_callbacks,omitzero"` // optional; nil on an ordinary connection
}

// DaemonStatusRequest is the payload of daemon.status.
type DaemonStatusRequest struct{}

// DaemonStatusReply is the reply to daemon.status.
type DaemonStatusReply struct {
	InstanceID      ID       `json:"instance_id"`
	Version         string   `json:"version"`
	UptimeMS        int64    `json:"uptime_ms"`
	Connections     int64    `json:"connections"`
	Sessions        int64    `json:"sessions"`
	ClaimedSessions int64    `json:"claimed_sessions"`
	ActiveTurns     int64    `json:"active_turns"`
	Executors       int64    `json:"executors"`
	PendingCalls    int64    `json:"pending_calls"`
	Retained        Retained `json:"retained"`
}

// Retained is what snapshots of application resources hold in memory.
type Retained struct {
	Snapshots int64 `json:"snapshots"`
	Entries   int64 `json:"entries"`
	Bytes     int64 `json:"bytes"`
}
