package proxy

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"gatewaytui/core/address"
	"gatewaytui/core/environment/proxy/hosts"
)

// connect connects to t. Each address of a name must be one of the public internet and not of this machine.
func (p *Proxy) connect(ctx context.Context, t hosts.Target) (net.Conn, error) {
	return address.Connect(ctx, t, p.opts.Resolve, func(a netip.Addr) error { return p.reachable(t, a) }, p.opts.Dial)
}

// reachable says why a, an address of t, is not dialled.
func (p *Proxy) reachable(t hosts.Target, a netip.Addr) error {
	if p.opts.Check != nil {
		if err := p.opts.Check(t, a); err != nil {
			return refusal(err.Error())
		}
		return nil
	}
	switch {
	case slices.Contains(p.opts.OwnPorts, t.Port) && address.Own(a):
		return refusal("the gateway itself answers there")
	case t.Addr.IsValid(): // the list names the address, or a person allowed it
		return nil
	case !address.Public(a) || address.Own(a):
		return refusal(fmt.Sprintf("%s has the private address %s; a list can name the address itself", t.Name, a))
	}
	return nil
}
