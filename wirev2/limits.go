package wirev2

import (
	"fmt"
	"reflect"
)

// Limits are the bounds a daemon advertises in capabilities; the codec itself uses the first three. The zero value of a
// field means its documented default in NewReader and in OrDefault, a negative value is an error. (wire-v2 3)
type Limits struct {
	MaxRecordBytes       int64 `json:"max_record_bytes"`       // bytes with the LF; default 65,536
	MaxPayloadBytes      int64 `json:"max_payload_bytes"`      // bytes as encoded on the wire; default 32,768
	MaxDepth             int64 `json:"max_depth"`              // nesting levels, the record object is 1; default 32
	MaxPromptBytes       int64 `json:"max_prompt_bytes"`       // bytes, raw and encoded; default 24,576
	MaxTextBytes         int64 `json:"max_text_bytes"`         // encoded bytes; default 20,000
	MaxSnapshotBytes     int64 `json:"max_snapshot_bytes"`     // encoded bytes; default 24,576
	MaxRequestsInFlight  int64 `json:"max_requests_in_flight"` // requests a connection; default 64
	MaxQueueRecords      int64 `json:"max_queue_records"`      // records a connection; default 1,024
	MaxQueueBytes        int64 `json:"max_queue_bytes"`        // bytes a connection; default 4,194,304
	MaxConnections       int64 `json:"max_connections"`        // connections; default 512
	MaxOperations        int64 `json:"max_operations"`         // retained operations; default 4,096
	OperationRetentionMS int64 `json:"operation_retention_ms"` // milliseconds; default 600,000
	MaxDeadlineMS        int64 `json:"max_deadline_ms"`        // milliseconds; default 600,000
	DefaultDeadlineMS    int64 `json:"default_deadline_ms"`    // milliseconds; default 30,000
	MaxProviderReplies   int64 `json:"max_provider_replies"`   // replies a turn; default 64
}

// ApplicationCallbacks are the bounds and offers of the profile application_resources_v1. (wire-v2 3; seed: Bounds)
type ApplicationCallbacks struct {
	Profile                       Capability   `json:"profile"`
	SourceKinds                   []SourceKind `json:"source_kinds"`
	MaxTools                      int64        `json:"max_tools"`
	MaxSkills                     int64        `json:"max_skills"`
	MaxRegistryBytes              int64        `json:"max_registry_bytes"`
	MaxSkillTextBytes             int64        `json:"max_skill_text_bytes"`
	MaxSnapshots                  int64        `json:"max_snapshots"`
	MaxRetainedEntries            int64        `json:"max_retained_entries"`
	MaxRetainedBytes              int64        `json:"max_retained_bytes"`
	MaxRegistrySessions           int64        `json:"max_registry_sessions"`
	RegistryIdleTimeoutMS         int64        `json:"registry_idle_timeout_ms"`
	MaxToolSourceBytes            int64        `json:"max_tool_source_bytes"`
	MaxSkillSourceBytes           int64        `json:"max_skill_source_bytes"`
	MaxCaptures                   int64        `json:"max_captures"`
	MaxSourcePathBytes            int64        `json:"max_source_path_bytes"`
	MaxNameBytes                  int64        `json:"max_name_bytes"`
	MaxDescriptionBytes           int64        `json:"max_description_bytes"`
	MaxSchemaProperties           int64        `json:"max_schema_properties"`
	MaxStringLength               int64        `json:"max_string_length"`
	MaxValueBytes                 int64        `json:"max_value_bytes"`
	MaxErrorBytes                 int64        `json:"max_error_bytes"`
	MaxExecutors                  int64        `json:"max_executors"`
	ExecutorConfirmTimeoutMS      int64        `json:"executor_confirm_timeout_ms"`
	ExecutorIdleTimeoutMS         int64        `json:"executor_idle_timeout_ms"`
	ExecutorAvailabilityTimeoutMS int64        `json:"executor_availability_timeout_ms"`
	RotationTimeoutMS             int64        `json:"rotation_timeout_ms"`
	MaxCalls                      int64        `json:"max_calls"`
	MaxCallsPerTurn               int64        `json:"max_calls_per_turn"`
	MaxEvidenceTurns              int64        `json:"max_evidence_turns"`
	MaxEvidenceBytes              int64        `json:"max_evidence_bytes"`
	MinTimeoutMS                  int64        `json:"min_timeout_ms"`
	MaxTimeoutMS                  int64        `json:"max_timeout_ms"`
	DefaultTimeoutMS              int64        `json:"default_timeout_ms"`
	OutcomeRetentionMS            int64        `json:"outcome_retention_ms"`
	MaxManifestBytes              int64        `json:"max_manifest_bytes"`
	Registry                      bool         `json:"registry"`
	ReconnectEvidence             bool         `json:"reconnect_evidence"`
}

const (
	defaultMaxRecordBytes  = 65536
	defaultMaxPayloadBytes = 32768
	defaultMaxDepth        = 32
	defaultMaxDeadlineMS   = 600000
)

// OrDefault returns the limits with each zero replaced by its default, or an error when one is negative.
func (l Limits) OrDefault() (Limits, error) {
	given, def := reflect.ValueOf(&l).Elem(), reflect.ValueOf(DefaultLimits())
	for i := range given.NumField() {
		switch n := given.Field(i); {
		case n.Int() < 0:
			return Limits{}, fmt.Errorf("wirev2: limit %s is negative", given.Type().Field(i).Name)
		case n.Int() == 0:
			n.Set(def.Field(i))
		}
	}
	return l, nil
}

// DefaultLimits returns the limits of the specification.
func DefaultLimits() Limits {
	return Limits{
		MaxRecordBytes: defaultMaxRecordBytes, MaxPayloadBytes: defaultMaxPayloadBytes, MaxDepth: defaultMaxDepth,
		MaxPromptBytes: 24576, MaxTextBytes: 20000, MaxSnapshotBytes: 24576,
		MaxRequestsInFlight: 64, MaxQueueRecords: 1024, MaxQueueBytes: 4194304, MaxConnections: 512,
		MaxOperations: 4096, OperationRetentionMS: 600000, MaxDeadlineMS: defaultMaxDeadlineMS, DefaultDeadlineMS: 30000,
		MaxProviderReplies: 64,
	}
}

// DefaultApplicationCallbacks returns the bounds of the specification.
func DefaultApplicationCallbacks() ApplicationCallbacks {
	return ApplicationCallbacks{
		Profile: CapabilityApplicationResources, SourceKinds: []SourceKind{SourceInline, SourceWorkspaceFile},
		MaxTools: 16, MaxSkills: 16, MaxRegistryBytes: 32768, MaxSkillTextBytes: 16384,
		MaxSnapshots: 256, MaxRetainedEntries: 1024, MaxRetainedBytes: 8388608, MaxRegistrySessions: 256,
		RegistryIdleTimeoutMS: 900000, MaxToolSourceBytes: 32768, MaxSkillSourceBytes: 16384, MaxCaptures: 1,
		MaxSourcePathBytes: 1024, MaxNameBytes: 48, MaxDescriptionBytes: 512, MaxSchemaProperties: 32,
		MaxStringLength: 4096, MaxValueBytes: 16384, MaxErrorBytes: 512, MaxExecutors: 256,
		ExecutorConfirmTimeoutMS: 60000, ExecutorIdleTimeoutMS: 900000, ExecutorAvailabilityTimeoutMS: 60000,
		RotationTimeoutMS: 60000, MaxCalls: 32, MaxCallsPerTurn: 32, MaxEvidenceTurns: 256, MaxEvidenceBytes: 30720,
		MinTimeoutMS: 1000, MaxTimeoutMS: 600000, DefaultTimeoutMS: 120000, OutcomeRetentionMS: 600000,
		MaxManifestBytes: 18000, Registry: true, ReconnectEvidence: true,
	}
}
