// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Devices that transports have registered.  Each port of a device is an adapter. */
#include <linux/slab.h>
#include <linux/xarray.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/stats.h"
#include "core/xport.h"
#include "lib/log.h"

/*
 * Never held during an operation of a transport that may take long, such as a query of a port.  The
 * caller holds the device instead; see dev_hold_next().
 */
static DEFINE_MUTEX(dat_dev_lock);
static DEFINE_XARRAY(dat_devs);	/* registered devices, by dat_dev.serial; dat_dev_lock */
static u32 dev_serial;		/* protected by dat_dev_lock */
static DEFINE_MUTEX(dat_ias_lock);	/* protects dev->ias of all devices */

static void dev_free(struct dat_dev *dev)
{
	u32 i;

	for (i = 0; i < dev->nports; i++)
		free_percpu(dev->stats[i]);
	kfree(dev->priv);
	kfree(dev);
}

static void dev_release(struct kref *ref)
{
	dev_free(container_of(ref, struct dat_dev, ref));
}

struct dat_dev *dat_dev_get(struct dat_dev *dev)
{
	kref_get(&dev->ref);
	return dev;
}

/*
 * Makes a removal of the device wait for dat_dev_ended(): a connection that has left its EP, or a
 * CQ that no connection uses any more, goes on using the device until it ends.
 */
void dat_dev_ending(struct dat_dev *dev)
{
	atomic_inc(&dev->ending);
}

/* The caller holds a reference of the device. */
void dat_dev_ended(struct dat_dev *dev)
{
	if (atomic_dec_and_test(&dev->ending))
		wake_up_var(&dev->ending);
}

void dat_dev_put(struct dat_dev *dev)
{
	kref_put(&dev->ref, dev_release);
}

/* Returns true if the device is registered and its removal has not begun. */
static bool dev_is_present(const struct dat_dev *dev)
{
	lockdep_assert_held(&dat_dev_lock);
	return xa_load(&dat_devs, dev->serial) == dev;
}

/*
 * Finds the registered device with the lowest serial number that is at least *@serial, and sets
 * *@serial to that number.  Returns the device with a reference, or NULL.  Its driver stays until
 * dev_drop(), so the caller may use operations of the transport that take a device.  The removal of
 * the device goes on meanwhile: only the end of the removal, in the driver, waits.
 */
static struct dat_dev *dev_hold_next(unsigned long *serial)
{
	struct dat_dev *dev;

	mutex_lock(&dat_dev_lock);
	dev = xa_find(&dat_devs, serial, ULONG_MAX, XA_PRESENT);
	while (dev && !dev->ops->hold(dev))
		dev = xa_find_after(&dat_devs, serial, ULONG_MAX, XA_PRESENT);
	if (dev)
		kref_get(&dev->ref);
	mutex_unlock(&dat_dev_lock);
	return dev;
}

static void dev_drop(struct dat_dev *dev)
{
	dev->ops->drop(dev);
	dat_dev_put(dev);
}

/*
 * Returns true if @name is a name of the port.  Every port has the name "<device>:<port>"; port 1
 * also has the name "<device>".
 */
static bool dev_port_matches(const struct dat_dev *dev, u32 port, const char *name)
{
	char device[DAT_NAME_SIZE], full[DAT_NAME_SIZE + sizeof(":4294967295")];

	dev->ops->name(dev, device, sizeof(device));
	if (port == 1 && !strcmp(device, name))
		return true;
	snprintf(full, sizeof(full), "%s:%u", device, port);
	return !strcmp(full, name);
}

static void dev_port_name(const struct dat_dev *dev, u32 port, char *name, size_t len)
{
	char device[DAT_NAME_SIZE];

	dev->ops->name(dev, device, sizeof(device));
	if (port == 1)
		strscpy(name, device, len);
	else
		snprintf(name, len, "%s:%u", device, port);
}

/* Returns the port of a device that has the name @name and is visible from @net, or 0. */
static u32 dev_find_port(const struct dat_dev *dev, const char *name, struct net *net)
{
	u32 p;

	for (p = 1; p <= dev->nports; p++)
		if (dev_port_matches(dev, p, name) && dev->ops->port_visible(dev, p, net))
			return p;
	return 0;
}

/* Finds a port as dat_dev_find() does.  The caller must call dev_drop(). */
static struct dat_dev *dev_find(const char *name, struct net *net, u32 *port)
{
	unsigned long serial = 0;
	struct dat_dev *dev;
	bool usable;

	for (; (dev = dev_hold_next(&serial)); serial++) {
		*port = dev_find_port(dev, name, net);
		usable = dev->usable;
		if (*port && usable)
			return dev;
		dev_drop(dev);
		if (*port)
			return ERR_PTR(-EOPNOTSUPP);
	}
	return ERR_PTR(-ENOENT);
}

/*
 * Finds a port by its name.  Returns the device of the port with a reference, and sets *@port.  If
 * @attr is not NULL, queries the port, which may wait for the firmware.  May sleep.  Fails with
 * -ENOENT if no port visible from @net has the name, with -EOPNOTSUPP if DAT does not support the
 * driver of the device.
 */
struct dat_dev *dat_dev_find(const char *name, struct net *net, u32 *port, struct dat_port *attr)
{
	struct dat_dev *dev = dev_find(name, net, port);

	if (IS_ERR(dev))
		return dev;
	if (attr)
		dev->ops->port_query(dev, *port, attr);
	dev->ops->drop(dev);
	return dev;
}

/* Queries an adapter, which need not be open.  May sleep.  Fails like dat_dev_find(). */
int dat_dev_query(const char *name, struct net *net, struct dat_limits *limits,
		  struct dat_port *port)
{
	u32 unused;
	struct dat_dev *dev = dat_dev_find(name, net, &unused, port);

	if (IS_ERR(dev))
		return PTR_ERR(dev);
	*limits = dev->limits;
	dat_dev_put(dev);
	return 0;
}

/*
 * Finds the next adapter after *@cursor that can be opened from @net.  Updates *@cursor, sets
 * *@port and returns the device, for which the caller must call dev_drop().  Returns NULL if there
 * is no such adapter.
 *
 * The cursor has the serial number of the device in its high half, the port in its low half.
 * Serial numbers only grow, so the cursor stays valid when devices are added or removed between two
 * calls.  But after a local device, which is the last one, no device that was added is found.
 */
static struct dat_dev *dev_next(struct net *net, u64 *cursor, u32 *port)
{
	unsigned long last = *cursor >> 32, serial = last;
	struct dat_dev *dev;
	u64 p;

	for (; (dev = dev_hold_next(&serial)); serial++) {
		/* The process may have passed any cursor, so the sum must not wrap. */
		p = serial == last ? (*cursor & U32_MAX) + 1 : 1;
		for (; dev->usable && p <= dev->nports; p++) {
			if (!dev->ops->port_visible(dev, p, net))
				continue;
			*cursor = (u64)serial << 32 | p;
			*port = p;
			return dev;
		}
		dev_drop(dev);
	}
	return NULL;
}

/*
 * Enumerates the adapters that can be opened from @net.  @cursor: 0 in the first call; updated for
 * the next call.  @active: set to whether the port is up; if NULL, the port is not queried.  May
 * sleep.  Fails with -ENOENT if there is no further adapter.
 */
int dat_dev_next(struct net *net, u64 *cursor, struct dat_dev_entry *out, bool *active)
{
	struct dat_port attr;
	struct dat_dev *dev;

	dev = dev_next(net, cursor, &out->port);
	if (!dev)
		return -ENOENT;
	dev_port_name(dev, out->port, out->name, sizeof(out->name));
	out->local = dev->limits.local;
	if (active) {
		dev->ops->port_query(dev, out->port, &attr);
		*active = attr.active;
	}
	dev_drop(dev);
	return 0;
}

static void dev_show(struct seq_file *m, const struct dat_dev *dev, u32 port, const char *name)
{
	seq_puts(m, "adapter:\tname=");
	seq_escape(m, name, DAT_SHOW_OCTAL);
	seq_printf(m, " port=%u", port);
	dat_stats_show(m, dev->stats[port - 1]);
	seq_putc(m, '\n');
}

/* Writes the fdinfo line of the adapter of an IA.  Writes nothing if the device is gone. */
static void dev_show_ia(struct seq_file *m, const struct dat_ia *ia)
{
	char name[DAT_NAME_SIZE];
	bool present;

	mutex_lock(&dat_dev_lock);
	present = dev_is_present(ia->dev);
	if (present)
		dev_port_name(ia->dev, ia->port, name, sizeof(name));
	mutex_unlock(&dat_dev_lock);
	if (present)
		dev_show(m, ia->dev, ia->port, name);
}

/*
 * Writes to fdinfo a line for the adapter of @ia.  If @ia is NULL, writes a line for each adapter
 * that can be opened from @net.
 *
 * A process that may open /dev/dat may read fdinfo as often as it likes.  So this function does not
 * query ports, because a query may wait for the firmware.
 */
void dat_dev_show(struct seq_file *m, struct net *net, const struct dat_ia *ia)
{
	char name[DAT_NAME_SIZE];
	struct dat_dev *dev;
	u64 cursor = 0;
	u32 port;

	if (ia) {
		dev_show_ia(m, ia);
		return;
	}
	/* If the text does not fit, seq_file calls this function again with a larger buffer. */
	while (!seq_has_overflowed(m) && (dev = dev_next(net, &cursor, &port))) {
		dev_port_name(dev, port, name, sizeof(name));
		dev_show(m, dev, port, name);
		dev_drop(dev);
	}
}

/*
 * Adds an IA to the IAs of a device, so that a removal of the device finds the IA.  Takes
 * dat_dev_lock and dat_ias_lock.  Returns false if the device is being removed.
 */
bool dat_dev_attach(struct dat_dev *dev, struct dat_ia *ia)
{
	bool alive;

	mutex_lock(&dat_dev_lock);
	alive = dev_is_present(dev);
	mutex_lock(&dat_ias_lock);
	if (alive)
		list_add_tail(&ia->node, &dev->ias);
	mutex_unlock(&dat_ias_lock);
	mutex_unlock(&dat_dev_lock);
	return alive;
}

/*
 * Undoes dat_dev_attach(); idempotent.  Takes dat_ias_lock, so the caller must hold no lock that
 * dat.h lists after it.
 */
void dat_dev_detach(struct dat_ia *ia)
{
	mutex_lock(&dat_ias_lock);
	list_del_init(&ia->node);
	mutex_unlock(&dat_ias_lock);
}

/*
 * Sets @best to the address of an IA for which dat_addr_rank() is highest.  The caller has locked
 * the IA or is counted in ia->pinning.  If the IA has no address at present, sets the family of
 * @best to AF_UNSPEC and fails with -ENETUNREACH.
 */
int dat_dev_addr(const struct dat_ia *ia, struct sockaddr_storage *best)
{
	struct sockaddr_storage ss;
	int rank, best_rank = 0;
	u32 nr = 0;

	memset(best, 0, sizeof(*best));
	/* Each call may search all addresses of the port, which may be thousands. */
	while (best_rank < DAT_ADDR_BEST_RANK && dat_dev_next_addr(ia, &ia->addr, &nr, &ss)) {
		rank = dat_addr_rank(&ss, AF_UNSPEC);
		if (rank <= best_rank)
			continue;
		*best = ss;
		best_rank = rank;
	}
	return best_rank ? 0 : -ENETUNREACH;
}

/*
 * Allocates the counters of each port in a separate allocation.  An allocation of per-CPU memory is
 * limited to PCPU_MIN_UNIT_SIZE, and a device may have hundreds of ports.
 */
static bool dev_alloc_stats(struct dat_dev *dev)
{
	u32 i;

	for (i = 0; i < dev->nports; i++) {
		dev->stats[i] = alloc_percpu(struct dat_stats);
		if (!dev->stats[i])
			return false;
	}
	return true;
}

/*
 * Allocates a device, which the transport fills in and passes to dat_dev_register() or
 * dat_dev_put().  @nports: 0 for an InfiniBand switch.  May sleep.  Returns NULL if memory is
 * short.
 */
struct dat_dev *dat_dev_alloc(const struct dat_xport_ops *ops, u32 nports)
{
	struct dat_dev *dev = kzalloc(struct_size(dev, stats, nports), GFP_KERNEL);

	if (!dev)
		return NULL;
	kref_init(&dev->ref);
	dev->ops = ops;
	dev->nports = nports;
	INIT_LIST_HEAD(&dev->ias);
	if (!dev_alloc_stats(dev)) {
		dev_free(dev);
		return NULL;
	}
	return dev;
}

/*
 * Registers a device, so that consumers can open its ports.  The caller has filled in the limits
 * and the quirks of @dev.  May sleep.  Fails with -ENOMEM.
 *
 * A device that reaches this host only is always the last one, so a program that opens the first
 * adapter does not depend on whether a driver was loaded before or after this module.
 */
int dat_dev_register(struct dat_dev *dev)
{
	int ret;

	mutex_lock(&dat_dev_lock);
	dev->serial = dev->limits.local ? U32_MAX : ++dev_serial;
	ret = xa_err(xa_store(&dat_devs, dev->serial, dev, GFP_KERNEL));
	mutex_unlock(&dat_dev_lock);
	return ret;
}

/*
 * Takes the first IA from @ias, a list of IAs of one device.  Adds the IA to @next, or detaches it
 * if @next is NULL.  Returns the IA with a reference, or NULL.
 */
static struct dat_ia *dev_take_ia(struct list_head *ias, struct list_head *next)
{
	struct dat_ia *ia;

	mutex_lock(&dat_ias_lock);
	ia = list_first_entry_or_null(ias, struct dat_ia, node);
	if (ia) {
		list_del_init(&ia->node);
		if (next)
			list_add_tail(&ia->node, next);
		kref_get(&ia->ref);
	}
	mutex_unlock(&dat_ias_lock);
	return ia;
}

/*
 * Queues an event to the async EVD of each IA of a port.  @port: 0 for all ports of the device.
 * Takes dat_ias_lock.
 */
void dat_dev_async(struct dat_dev *dev, u32 port, u32 type, u16 reason)
{
	struct dat_ia *ia;

	mutex_lock(&dat_ias_lock);
	list_for_each_entry(ia, &dev->ias, node)
		if (!port || ia->port == port)
			dat_ia_report(ia, type, reason);
	mutex_unlock(&dat_ias_lock);
}

/*
 * Sets ia->closing in all IAs of a device, so that dat_ia_pin_begin() starts no more registrations.
 * The shutdown of an IA would have to wait for these registrations.  Returns the number of IAs.
 */
static unsigned int dev_close_ias(struct dat_dev *dev)
{
	unsigned int n = 0;
	struct dat_ia *ia;

	mutex_lock(&dat_ias_lock);
	list_for_each_entry(ia, &dev->ias, node) {
		WRITE_ONCE(ia->closing, true);
		n++;
	}
	mutex_unlock(&dat_ias_lock);
	return n;
}

/*
 * Removes a device and drops the transport's reference.  Queues a catastrophic event to the async
 * EVD of each IA of the device, and shuts the IAs down.  The teardowns of all connections run at
 * the same time, because a device that has failed makes each teardown wait for seconds.  On return
 * no connection uses the device.  Context: sleeps; no lock of this module held.
 */
void dat_dev_unregister(struct dat_dev *dev)
{
	char name[DAT_NAME_SIZE];
	LIST_HEAD(closing);
	struct dat_ia *ia;
	unsigned int n;

	mutex_lock(&dat_dev_lock);
	xa_erase(&dat_devs, dev->serial);
	mutex_unlock(&dat_dev_lock);

	n = dev_close_ias(dev);
	if (n) {
		dev->ops->name(dev, name, sizeof(name));
		dat_log("%s: the device is removed while IAs are open: %u", name, n);
	}
	while ((ia = dev_take_ia(&dev->ias, &closing))) {
		dat_ia_report(ia, DAT_EV_ASYNC_CATASTROPHIC, DAT_IA_REASON_CATASTROPHIC);
		dat_ia_abort_conns(ia);
		dat_ia_put(ia);
	}
	while ((ia = dev_take_ia(&closing, NULL))) {
		dat_ia_shutdown(ia);
		dat_ia_put(ia);
	}
	wait_var_event(&dev->ending, !atomic_read(&dev->ending));
	dat_dev_put(dev);
}
