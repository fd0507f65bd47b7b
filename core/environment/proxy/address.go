package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"gatewaytui/core/address"
	"gatewaytui/core/environment/proxy/hosts"
)

// connect connects to t. Each address of a name must be one of the public internet and not of this machine, and the address
// that was checked is the one that is dialled: a name that changes its address between the two gains nothing.
func (p *Proxy) connect(ctx context.Context, t hosts.Target) (net.Conn, error) {
	addrs := []netip.Addr{t.Addr}
	if !t.Addr.IsValid() {
		var err error
		if addrs, err = p.opts.Resolve(ctx, t.Name); err != nil {
			return nil, fmt.Errorf("look up %s: %w", t.Name, err)
		}
	}
	for i, a := range addrs {
		addrs[i] = a.Unmap().WithZone("")
		if err := p.reachable(t, addrs[i]); err != nil {
			return nil, err
		}
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("look up %s: it has no address", t.Name)
	}
	var errs []error
	for _, a := range addrs[:min(len(addrs), dialMost)] {
		conn, err := p.opts.Dial(ctx, netip.AddrPortFrom(a, t.Port))
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
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
