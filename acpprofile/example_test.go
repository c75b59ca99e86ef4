package acpprofile_test

import (
	"fmt"

	"github.com/magi-jig/magi-jig/acpprofile"
)

func ExampleMachine() {
	m, err := acpprofile.New(acpprofile.Config{Client: "pi", MaxTurns: 1})
	if err != nil {
		panic(err)
	}
	d, err := m.Adapter([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`))
	fmt.Println(len(d.ToNative), err)
	d, err = m.Native([]byte(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"private"}}}`))
	fmt.Printf("%s %v\n", d.ToAdapter[0], err)
	_, err = m.Adapter([]byte(`{"jsonrpc":"2.0","id":2,"method":"authenticate","params":{}}`))
	fmt.Println(err)
	_, err = m.Native([]byte(`{}`))
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentCapabilities":{}}} <nil>
	// acpprofile: adapter: this method is not part of the conversation
	// acpprofile: the conversation is closed after a failure
}
