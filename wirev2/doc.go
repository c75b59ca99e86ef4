// Package wirev2 is the record layer and the vocabulary of wire v2, the protocol between a magid daemon and the
// applications on its machine: one JSON object a line over a Unix stream socket.
package wirev2
