package server

import (
	"strconv"

	"github.com/magi-jig/magi-jig/wirev2"
)

// The queue's account needs the size of a record before the record is encoded.
// These frames are records without their values; a test compares the sums with what
// is really written.
const (
	responseFrame = len(`{"v":2,"kind":"response","request_id":,"instance_id":,"connection_id":,"session_id":,"operation_id":,"grant_generation":,"payload":}`) + 1
	eventFrame    = len(`{"v":2,"kind":"event","event":"","instance_id":,"connection_id":,"session_id":,"operation_id":,"grant_generation":,"live_sequence":,"payload":}`) + 1
	errorFrame    = len(`"error":{"code":"","message":""}`) - len(`"payload":`)
	textFrame     = len(`{"turn_id":"00000000-0000-4000-8000-000000000000","text":""}`) - len(`{}`)
	nullBytes     = len(`null`)
	idBytes       = len(`"00000000-0000-4000-8000-000000000000"`)
	sequenceBytes = len(`9223372036854775807`) // counted at its longest: it is not known before the record leaves
)

func responseSize(r *wirev2.Response) int {
	size := responseFrame + idSize(r.InstanceID) + idSize(r.ConnectionID) + idSize(r.SessionID) + idSize(r.OperationID) + numberSize(r.GrantGeneration)
	if r.RequestID == "" {
		size += nullBytes
	} else {
		size += len(r.RequestID) + 2
	}
	if r.Error != nil {
		return size + errorFrame + wirev2.EncodedStringLen(string(r.Error.Code)) + wirev2.EncodedStringLen(r.Error.Message)
	}
	return size + payloadSize(r.Payload)
}

func eventSize(e *wirev2.Event) int {
	return eventFrame + len(e.Event) + idSize(e.InstanceID) + idSize(e.ConnectionID) + idSize(e.SessionID) + idSize(e.OperationID) +
		numberSize(e.GrantGeneration) + sequenceBytes + payloadSize(e.Payload)
}

func payloadSize[T ~[]byte](payload T) int {
	if payload == nil {
		return len(`{}`)
	}
	return len(payload)
}

func idSize(id wirev2.ID) int {
	if id == "" {
		return nullBytes
	}
	return idBytes
}

func numberSize(n int64) int {
	if n == 0 {
		return nullBytes
	}
	var digits [20]byte
	return len(strconv.AppendInt(digits[:0], n, 10))
}
