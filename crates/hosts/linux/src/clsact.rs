//! Filter of every frame that leaves an interface, before its qdisc: the egress hook of clsact,
//! where a filter (u32) with the action mirred leads all frames to another interface.

use crate::dump::FILTER;
use crate::netlink::{DONE, ERROR, Netlink};
use crate::tc::{ALL_PROTOCOLS, MAJOR, TrafficControl, message};
use netlink_packet_core::NLM_F_DUMP;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::tc::{
    TcAction, TcActionAttribute, TcActionMirrorOption, TcActionOption, TcActionType, TcAttribute,
    TcFilterU32Option, TcHandle, TcMessage, TcMirror, TcMirrorActionType, TcOption, TcU32Key,
    TcU32Selector, TcU32SelectorFlags,
};
use std::io;

/// `TC_H_CLSACT`, which `ingress` has too, and its own handle.
const PARENT: TcHandle = TcHandle::INGRESS;
const HANDLE: TcHandle = TcHandle { major: 0xffff, minor: 0 };
/// `TC_H_MIN_INGRESS` and `TC_H_MIN_EGRESS`: the hooks.
const HOOKS: [TcHandle; 2] = [INGRESS, EGRESS];
const INGRESS: TcHandle = hook(0xfff2);
const EGRESS: TcHandle = hook(0xfff3);
/// Our filter's preference, by which it is known again.
const PREFERENCE: u16 = MAJOR;

const fn hook(minor: u16) -> TcHandle {
    TcHandle { major: 0xffff, minor }
}

fn clsact(index: u32) -> TcMessage {
    let mut message = message(index, HANDLE, PARENT);
    message.attributes = vec![TcAttribute::Kind("clsact".to_owned())];
    message
}

fn filter(index: u32, hook: TcHandle, options: Vec<TcFilterU32Option>) -> TcMessage {
    let mut message = message(index, TcHandle::UNSPEC, hook);
    message.header.info = u32::from(PREFERENCE) << 16 | ALL_PROTOCOLS;
    let options = options.into_iter().map(TcOption::U32).collect();
    message.attributes = vec![TcAttribute::Kind("u32".to_owned()), TcAttribute::Options(options)];
    message
}

/// Every frame of a hook to another interface: by which it leaves, or at which it arrives.
fn redirection(index: u32, hook: TcHandle, to: u32) -> TcMessage {
    let mut mirror = TcMirror::default();
    mirror.generic.action = TcActionType::Stolen;
    mirror.ifindex = to;
    if hook == INGRESS {
        mirror.eaction = TcMirrorActionType::IngressRedir;
    }
    let mut action = TcAction::default();
    action.tab = 1;
    action.attributes = vec![
        TcActionAttribute::Kind("mirred".to_owned()),
        TcActionAttribute::Options(vec![TcActionOption::Mirror(TcActionMirrorOption::Parms(
            mirror,
        ))]),
    ];
    // A word of which no bit matters.
    let mut selector = TcU32Selector::default();
    (selector.nkeys, selector.keys) = (1, vec![TcU32Key::default()]);
    selector.flags = TcU32SelectorFlags::Terminal;
    let options =
        vec![TcFilterU32Option::Action(vec![action]), TcFilterU32Option::Selector(selector)];
    filter(index, hook, options)
}

impl Netlink {
    /// The kind of the qdisc whose hooks an interface has; `None` if it has none.
    pub(crate) fn hooked(&mut self, index: u32) -> io::Result<Option<String>> {
        Ok(self.qdisc_at(index, PARENT)?.map(|found| found.kind().to_owned()))
    }

    /// Leads every frame that leaves an interface, which has no hooks yet, to another one.
    pub(crate) fn redirect_egress(&mut self, index: u32, to: u32) -> io::Result<()> {
        self.add_qdisc(clsact(index))?;
        self.add_filter(redirection(index, EGRESS, to))
    }

    /// Has every frame that arrives at an interface, which has no hooks yet, arrive at another one
    /// instead.
    pub(crate) fn redirect_ingress(&mut self, index: u32, to: u32) -> io::Result<()> {
        self.add_qdisc(clsact(index))?;
        self.add_filter(redirection(index, INGRESS, to))
    }

    /// Takes our filter away, and the hooks if no other filter uses them.
    pub(crate) fn free_egress(&mut self, index: u32) -> io::Result<()> {
        if self.hooked(index)?.as_deref() != Some("clsact") {
            return Ok(());
        }
        let mut is_ours = false;
        let mut others = 0;
        for hook in HOOKS {
            for preference in self.preferences(index, hook)? {
                match hook == EGRESS && preference == PREFERENCE {
                    true => is_ours = true,
                    false => others += 1,
                }
            }
        }
        match (is_ours, others) {
            (_, 0) => self.ask(RouteNetlinkMessage::DelQueueDiscipline(clsact(index)), 0),
            (true, _) => self.delete_filter(filter(index, EGRESS, Vec::new())),
            (false, _) => Ok(()),
        }
    }

    /// Preferences of the filters at a hook, one for each answer of the kernel.
    fn preferences(&mut self, index: u32, hook: TcHandle) -> io::Result<Vec<u16>> {
        let question = message(index, TcHandle::UNSPEC, hook);
        self.post(RouteNetlinkMessage::GetTrafficFilter(question), NLM_F_DUMP)?;
        let mut found = Vec::new();
        loop {
            for (of_type, body) in self.raw_answers()? {
                match of_type {
                    DONE => return Ok(found),
                    ERROR => {
                        let code = body.first_chunk().map_or(0, |bytes| i32::from_ne_bytes(*bytes));
                        return Err(io::Error::from_raw_os_error(-code));
                    }
                    // `tcm_info` is the last word of `struct tcmsg`.
                    FILTER => found.extend(body.get(16..20).map(|info| {
                        let info = info.try_into().map_or(0, u32::from_ne_bytes);
                        (info >> 16) as u16
                    })),
                    _ => {}
                }
            }
        }
    }
}
