package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAStubbornAgentIgnoresSIGTERM(t *testing.T) {
	f, _ := find("stubborn")
	got, h := converse(t, f, false)
	require.Equal(t, lingers, got)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.cmd.Process.Pid))
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(status), "SigIgn:\t")
	require.True(t, ok)
	mask, err := strconv.ParseUint(rest[:16], 16, 64)
	require.NoError(t, err)
	require.NotZero(t, mask&(1<<(syscall.SIGTERM-1)))
	require.NoError(t, h.cmd.Process.Kill())
	require.Equal(t, syscall.SIGKILL, h.status().Signal())
}
