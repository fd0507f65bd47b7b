package text

import (
	"net"
	"testing"
)

func TestHF33_AnIPv4AddressListensOnIPv4Alone(t *testing.T) {
	for address, want := range map[string]string{
		"0.0.0.0:0": "tcp4", "127.0.0.1:8642": "tcp4", ":8642": "tcp", "[::]:0": "tcp", "[::1]:1": "tcp", "localhost:1": "tcp", "": "tcp",
	} {
		if got := ListenNetwork(address); got != want {
			t.Errorf("%q: %s, want %s", address, got, want)
		}
	}
	l, err := net.Listen(ListenNetwork("0.0.0.0:0"), "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if ip := l.Addr().(*net.TCPAddr).IP; ip.To4() == nil {
		t.Errorf("it listens on %s", ip)
	}
}
