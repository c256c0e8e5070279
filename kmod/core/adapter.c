// SPDX-License-Identifier: GPL-2.0-only
// Copyright (c) The dat authors
/* Devices that transports have registered.  Each port of a device is an adapter. */
#include <linux/slab.h>

#include "core/addr.h"
#include "core/dat.h"
#include "core/stats.h"
#include "core/xport.h"
#include "lib/log.h"

static DEFINE_MUTEX(dat_dev_lock);
static LIST_HEAD(dat_devs);	/* in ascending order of dat_dev.serial */
static u32 dev_serial;		/* protected by dat_dev_lock */
/*
 * Protects dev->ias of all devices.  A query of a port under dat_dev_lock may take long.  Handlers
 * of device events need dev->ias and must not wait for a query, so dev->ias has its own lock.
 */
static DEFINE_MUTEX(dat_ias_lock);

static void dev_free(struct dat_dev *dev)
{
	u32 i;

	for (i = 0; i < dev->nports; i++)
		free_percpu(dev->stats[i]);
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

void dat_dev_put(struct dat_dev *dev)
{
	kref_put(&dev->ref, dev_release);
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

static struct dat_dev *dev_find(const char *name, struct net *net, u32 *port)
{
	struct dat_dev *dev;
	u32 p;

	lockdep_assert_held(&dat_dev_lock);
	list_for_each_entry(dev, &dat_devs, node) {
		for (p = 1; p <= dev->nports; p++) {
			if (!dev_port_matches(dev, p, name) ||
			    !dev->ops->port_visible(dev, p, net))
				continue;
			*port = p;
			return dev->usable ? dev : ERR_PTR(-EOPNOTSUPP);
		}
	}
	return ERR_PTR(-ENOENT);
}

/*
 * Finds a port by its name.  Returns the device of the port with a reference, and sets *@port.
 * Takes dat_dev_lock.  Fails with -ENOENT if no port visible from @net has the name, with
 * -EOPNOTSUPP if DAT does not support the driver of the device.
 */
struct dat_dev *dat_dev_find(const char *name, struct net *net, u32 *port)
{
	struct dat_dev *found;

	mutex_lock(&dat_dev_lock);
	found = dev_find(name, net, port);
	if (!IS_ERR(found))
		kref_get(&found->ref);
	mutex_unlock(&dat_dev_lock);
	return found;
}

/* Queries an adapter, which need not be open.  May sleep.  Fails like dat_dev_find(). */
int dat_dev_query(const char *name, struct net *net, struct dat_limits *limits,
		  struct dat_port *port)
{
	struct dat_dev *dev;
	u32 p;

	mutex_lock(&dat_dev_lock);
	dev = dev_find(name, net, &p);
	if (!IS_ERR(dev)) {
		*limits = dev->limits;
		dev->ops->port_query(dev, p, port);
	}
	mutex_unlock(&dat_dev_lock);
	return PTR_ERR_OR_ZERO(dev);
}

/*
 * Finds the next adapter after *@cursor that can be opened from @net.  Updates *@cursor, sets
 * *@port and returns the device.  Returns NULL if there is no such adapter.
 */
static struct dat_dev *dev_next(struct net *net, u64 *cursor, u32 *port)
{
	struct dat_dev *dev;
	u64 at;
	u32 p;

	lockdep_assert_held(&dat_dev_lock);
	list_for_each_entry(dev, &dat_devs, node) {
		for (p = 1; p <= dev->nports; p++) {
			/*
			 * Serial numbers only grow, so the cursor stays valid when devices are
			 * added or removed between two calls.
			 */
			at = (u64)dev->serial << 32 | p;
			if (at <= *cursor || !dev->usable || !dev->ops->port_visible(dev, p, net))
				continue;
			*cursor = at;
			*port = p;
			return dev;
		}
	}
	return NULL;
}

/*
 * Enumerates the adapters that can be opened from @net.  @cursor: 0 in the first call; updated for
 * the next call.  May sleep.  Fails with -ENOENT if there is no further adapter.
 */
int dat_dev_next(struct net *net, u64 *cursor, char *name, size_t len, u32 *port, bool *active)
{
	struct dat_port attr;
	struct dat_dev *dev;

	mutex_lock(&dat_dev_lock);
	dev = dev_next(net, cursor, port);
	if (dev) {
		dev_port_name(dev, *port, name, len);
		dev->ops->port_query(dev, *port, &attr);
		*active = attr.active;
	}
	mutex_unlock(&dat_dev_lock);
	return dev ? 0 : -ENOENT;
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
	present = !list_empty(&ia->dev->node);
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
 * query ports, because a query may wait for the firmware.  This function holds dat_dev_lock only
 * for a search.
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
	while (!seq_has_overflowed(m)) {
		mutex_lock(&dat_dev_lock);
		dev = dev_next(net, &cursor, &port);
		if (dev) {
			dev_port_name(dev, port, name, sizeof(name));
			dat_dev_get(dev);
		}
		mutex_unlock(&dat_dev_lock);
		if (!dev)
			return;
		dev_show(m, dev, port, name);
		dat_dev_put(dev);
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
	alive = !list_empty(&dev->node);
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

/* Returns 3 for IPv4, 2 for IPv6, 1 for link-local IPv6; 0 unless @family is 0 or matches. */
static int addr_rank(const struct sockaddr_storage *ss, sa_family_t family)
{
	if (family && ss->ss_family != family)
		return 0;
	if (ss->ss_family == AF_INET)
		return 3;
	return dat_addr_is_link_local(ss) ? 1 : 2;
}

/*
 * Sets @best to the address of an IA for which addr_rank() is highest.  @family: AF_UNSPEC, or the
 * family that the address must have.  The caller has locked the IA or is counted in ia->pinning.
 * If the IA has no such address at present, sets the family of @best to AF_UNSPEC and fails with
 * -ENETUNREACH.
 */
int dat_dev_addr(const struct dat_ia *ia, sa_family_t family, struct sockaddr_storage *best)
{
	struct sockaddr_storage ss;
	int rank, best_rank = 0;
	u32 nr = 0;

	memset(best, 0, sizeof(*best));
	while (dat_dev_next_addr(ia, &ia->addr, &nr, &ss)) {
		rank = addr_rank(&ss, family);
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
 * and the quirks of @dev.
 */
void dat_dev_register(struct dat_dev *dev)
{
	mutex_lock(&dat_dev_lock);
	dev->serial = ++dev_serial;
	list_add_tail(&dev->node, &dat_devs);
	mutex_unlock(&dat_dev_lock);
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
	list_del_init(&dev->node);
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
