-- Dissectors for Fairwave's own messages, for Wireshark and tshark:
--
--     tshark -X lua_script:docs/wireshark/fairwave.lua -r capture.pcapng -Y fwshake
--
-- SHAKE (`fwshake`) and the buffer probe (`fwprobe`) over UDP, SHAKE's
-- predecessor (`fwmulti`) on TCP streams. All are known by their first four bytes, whatever the
-- ports. The layouts are those of docs/models/shake.md, probe.md and multi-tcp.md, and
-- what Fairwave would not read has an expert item (`fwshake.malformed` and so on). Seals are shown,
-- not checked: Wireshark's Lua has no HMAC.

local SEAL = 16

-- Reading, field by field. --------------------------------------------------------------------

local function malformed(text)
    error({ malformed = text }, 0)
end

local function is_zero(range)
    local bytes = range:bytes()
    for i = 0, bytes:len() - 1 do
        if bytes:get_index(i) ~= 0 then
            return false
        end
    end
    return true
end

-- What the bytes of a field must be, besides being there.
local MUST = {
    zero = is_zero,
    ["not zero"] = function(range)
        return not is_zero(range)
    end,
    ["below 2^62"] = function(range)
        return range(0, 1):uint() < 0x40
    end,
    known = function(range, field)
        return field.names[range:uint()] ~= nil
    end,
}

local Cursor = {}
Cursor.__index = Cursor

-- Adds the next field to the tree. `length` is for fields of any length.
function Cursor:take(key, length, tree)
    local field = self.format.fields[key]
    length = length or field.length
    if self.at + length > self.to then
        local text = "%s: %d bytes at offset %d, %d are left"
        malformed(text:format(field.name, length, self.at, self.to - self.at))
    end
    if length == 0 then
        return nil
    end
    if self.at + length > self.tvb:captured_len() then
        error({ cut = true }, 0)
    end
    local range = self.tvb(self.at, length)
    self.at = self.at + length
    local item = (tree or self.tree):add(field.proto, range)
    if field.must and not MUST[field.must](range, field) then
        malformed(("%s must be %s"):format(field.name, field.must))
    end
    return range, item
end

function Cursor:left()
    return self.to - self.at
end

-- Formats. ------------------------------------------------------------------------------------

-- A field: abbreviation behind that of the format, type, length in bytes (nil: any), name, and
-- what else there is to say: base, names of its values, mask, what it must be.
local function field(key, kind, length, name, more)
    more = more or {}
    return { key = key, kind = kind, length = length, name = name, base = more.base,
        names = more.names, mask = more.mask, must = more.must }
end

local function proto_field(abbreviation, field)
    local make = ProtoField[field.kind]
    if field.kind == "bool" then
        return make(abbreviation, field.name, 8, nil, field.mask)
    elseif field.kind == "bytes" or field.kind == "none" or field.kind == "string" then
        return make(abbreviation, field.name)
    end
    return make(abbreviation, field.name, field.base or base.DEC, field.names)
end

-- Makes a format: its protocol, its fields by key, and its expert items.
local function format(name, label, description, fields)
    local proto = Proto(name, description)
    local made = { proto = proto, label = label, fields = {} }
    local all = {}
    for _, one in ipairs(fields) do
        one.proto = proto_field(name .. "." .. one.key, one)
        made.fields[one.key] = one
        all[#all + 1] = one.proto
    end
    proto.fields = all
    made.malformed = ProtoExpert.new(name .. ".malformed", "No message of " .. label,
        expert.group.MALFORMED, expert.severity.ERROR)
    made.cut = ProtoExpert.new(name .. ".cut", "The capture has less than the whole message",
        expert.group.UNDECODED, expert.severity.NOTE)
    proto.experts = { made.malformed, made.cut }
    return made
end

-- Reads a message, which is all of `tvb`, with `read`: what it says, or what is wrong with it.
local function dissect(format, tvb, pinfo, tree, read)
    local root = tree:add(format.proto, tvb())
    local start = { format = format, tvb = tvb, at = 0, to = tvb:reported_len(), tree = root }
    local cursor = setmetatable(start, Cursor)
    local good, result = pcall(read, cursor)
    pinfo.cols.protocol = format.label
    if good then
        root:append_text(": " .. result)
        return result
    elseif type(result) ~= "table" then
        error(result, 0)
    elseif result.cut then
        root:add_proto_expert_info(format.cut)
        return "cut by the capture"
    end
    root:add_proto_expert_info(format.malformed, result.malformed)
    return "malformed: " .. result.malformed
end

-- Head, body by kind and seal. `read_body` reads up to the seal and says what it read.
local function sealed_message(format, head, read_body)
    return function(cursor)
        local whole = cursor.to
        local ranges, items = {}, {}
        for _, key in ipairs(head) do
            ranges[key], items[key] = cursor:take(key)
        end
        cursor.to = math.max(cursor.at, whole - SEAL)
        local kind = ranges.kind:uint()
        local name = format.fields.kind.names[kind]
        local text = read_body(cursor, kind, ranges, items)
        cursor.to = whole
        cursor:take("seal")
        return name .. text
    end
end

-- Takes the fields of a body that are there one after the other.
local function take_all(cursor, keys)
    local ranges = {}
    for _, key in ipairs(keys) do
        ranges[key] = cursor:take(key)
    end
    return ranges
end

local function nothing_behind(cursor)
    if cursor:left() > 0 then
        malformed(("%d bytes behind the body"):format(cursor:left()))
    end
end

-- Registers a format of UDP by the four bytes that its messages begin with.
local function over_udp(format, magic, read)
    local function message(tvb, pinfo, tree)
        pinfo.cols.info = dissect(format, tvb, pinfo, tree, read)
        return tvb:captured_len()
    end
    format.proto.dissector = message
    format.proto:register_heuristic("udp", function(tvb, pinfo, tree)
        if tvb:captured_len() < 4 or tvb(0, 4):string() ~= magic then
            return false
        end
        message(tvb, pinfo, tree)
        return true
    end)
end

local VERSIONS = { [1] = "the one known" }

-- SHAKE. --------------------------------------------------------------------------------------

local JOIN, DATA, ACK = 1, 4, 5
local MOST_BLOCKS = 8

local shake = format("fwshake", "SHAKE", "Fairwave SHAKE", {
    field("magic", "string", 4, "Magic"),
    field("version", "uint8", 1, "Version", { names = VERSIONS, must = "known" }),
    field("kind", "uint8", 1, "Kind", { must = "known", names = {
        "Join", "Challenge", "Response", "Data", "Acknowledgement", "Leave", "Left", "Reset" } }),
    field("flags", "uint8", 1, "Flags", { base = base.HEX }),
    field("flags.opener", "bool", 1, "Sent by the opener", { mask = 0x01 }),
    field("flags.open", "bool", 1, "Opens the connection", { mask = 0x02 }),
    field("flags.fin", "bool", 1, "The stream ends behind it", { mask = 0x04 }),
    field("path", "uint8", 1, "Path"),
    field("connection", "uint64", 8, "Connection", { base = base.HEX }),
    field("number", "uint64", 8, "Number", { must = "not zero" }),
    field("sent_us", "uint32", 4, "Time of sending (us)"),
    field("nonce", "uint64", 8, "Nonce", { base = base.HEX }),
    field("answers", "uint64", 8, "Nonce answered", { base = base.HEX }),
    field("window", "uint32", 4, "Receive window"),
    field("seq", "uint64", 8, "Sequence number", { must = "below 2^62" }),
    field("len", "uint32", 4, "Length of the payload"),
    field("payload", "bytes", nil, "Payload"),
    field("cumulative", "uint64", 8, "Cumulative acknowledgement", { must = "below 2^62" }),
    field("echo.number", "uint64", 8, "Number echoed"),
    field("echo.sent_us", "uint32", 4, "Time echoed (us)"),
    field("blocks", "uint8", 1, "Count of blocks"),
    field("block", "none", 8, "Block"),
    field("block.offset", "uint32", 4, "Offset above the cumulative one", { must = "not zero" }),
    field("block.len", "uint32", 4, "Length", { must = "not zero" }),
    field("block.from", "uint64", 8, "From"),
    field("block.to", "uint64", 8, "Up to"),
    field("left.path", "uint8", 1, "Path left"),
    field("left.last", "uint64", 8, "The leaver's last number on it"),
    field("reason", "uint8", 1, "Reason", { must = "known", names = {
        "abort", "nobody reads", "violation", "no path" } }),
    field("seal", "bytes", SEAL, "Seal"),
})

local SHAKE_HEAD = { "magic", "version", "kind", "flags", "path", "connection", "number",
    "sent_us" }

local function shake_flags(flags, item, kind)
    for _, key in ipairs({ "flags.opener", "flags.open", "flags.fin" }) do
        item:add(shake.fields[key].proto, flags)
    end
    -- Bits are counted from the highest.
    local others, fin, open = flags:bitfield(0, 5), flags:bitfield(5, 1), flags:bitfield(6, 1)
    if others ~= 0 or (fin ~= 0 and kind ~= DATA) or (open ~= 0 and kind ~= JOIN) then
        malformed(("flags 0x%02x do not fit the kind"):format(flags:uint()))
    end
    return fin ~= 0
end

local function shake_ack(cursor)
    local ranges = take_all(cursor, { "cumulative", "window", "echo.number", "echo.sent_us" })
    local number = ranges["echo.number"]
    if is_zero(number) and not is_zero(ranges["echo.sent_us"]) then
        malformed("time echoed of no message")
    end
    local cumulative = ranges.cumulative:uint64()
    local count = cursor:take("blocks"):uint()
    if count > MOST_BLOCKS then
        malformed(("%d blocks, at most %d are allowed"):format(count, MOST_BLOCKS))
    end
    for _ = 1, count do
        local at = cursor.at
        local offset = cursor:take("block.offset")
        local range = cursor:take("block.len")
        local from = cumulative + UInt64(offset:uint())
        local to = from + UInt64(range:uint())
        local both = cursor.tvb(at, 8)
        local item = cursor.tree:add(shake.fields.block.proto, both)
        item:append_text((": %s to %s"):format(from, to))
        item:add(shake.fields["block.from"].proto, both, from):set_generated()
        item:add(shake.fields["block.to"].proto, both, to):set_generated()
    end
    local text = (", cumulative %s, window %u, %d blocks"):format(cumulative,
        ranges.window:uint(), count)
    return is_zero(number) and text or text .. (", echo of %s"):format(number:uint64())
end

local function shake_data(cursor, fin)
    local seq = cursor:take("seq")
    local length = cursor:left()
    if length == 0 and not fin then
        malformed("no payload, though the stream goes on")
    end
    cursor.tree:add(shake.fields.len.proto, seq, length):set_generated()
    cursor:take("payload", length)
    return (", seq %s, %d bytes%s"):format(seq:uint64(), length, fin and ", end" or "")
end

local SHAKE_BODIES = {
    { "nonce", "window" },
    { "nonce", "answers", "window" },
    { "answers" },
    [6] = { "left.path", "left.last" },
    [7] = { "left.path", "left.last" },
    [8] = { "reason" },
}

over_udp(shake, "FWsk", sealed_message(shake, SHAKE_HEAD, function(cursor, kind, head, items)
    local fin = shake_flags(head.flags, items.flags, kind)
    local text = (", path %d, number %s"):format(head.path:uint(), head.number:uint64())
    if kind == DATA then
        return text .. shake_data(cursor, fin)
    elseif kind == ACK then
        text = text .. shake_ack(cursor)
    else
        take_all(cursor, SHAKE_BODIES[kind])
    end
    nothing_behind(cursor)
    return text
end))

-- The buffer probe. ---------------------------------------------------------------------------

local PROBE_REPORT = 7

local probe = format("fwprobe", "Probe", "Fairwave buffer probe", {
    field("magic", "string", 4, "Magic"),
    field("version", "uint8", 1, "Version", { names = VERSIONS, must = "known" }),
    field("kind", "uint8", 1, "Kind", { must = "known", names = {
        "Hello", "Challenge", "Start", "Accept", "Data", "End", "Report", "Done", "Refuse" } }),
    field("reserved", "uint16", 2, "Reserved", { must = "zero" }),
    field("session", "uint64", 8, "Session", { base = base.HEX }),
    field("nonce", "uint64", 8, "Nonce", { base = base.HEX }),
    field("cookie", "bytes", 16, "Cookie"),
    field("rate", "uint64", 8, "Rate (bit/s)"),
    field("packets", "uint32", 4, "Packets of data"),
    field("duration_ns", "uint64", 8, "Duration (ns)"),
    field("train", "uint16", 2, "Train"),
    field("number", "uint32", 4, "Number"),
    field("sent_ns", "uint64", 8, "Time of sending (ns)"),
    field("sent", "uint32", 4, "Packets sent"),
    field("chunk", "uint16", 2, "Chunk"),
    field("chunks", "uint16", 2, "Chunks in all"),
    field("records", "uint16", 2, "Records"),
    field("arrived_ns", "uint64", 8, "First arrival (ns)"),
    field("record", "none", nil, "Record"),
    field("reason", "uint8", 1, "Reason", { must = "known", names = { "busy", "cookie" } }),
    field("padding", "bytes", nil, "Padding", { must = "zero" }),
    field("seal", "bytes", SEAL, "Seal"),
})

local PROBE_HEAD = { "magic", "version", "kind", "reserved", "session" }
local PROBE_BODIES = {
    { "nonce" },
    { "cookie" },
    { "nonce", "cookie", "rate", "packets", "duration_ns" },
    { "rate", "packets", "duration_ns" },
    { "train", "number", "sent_ns" },
    { "train", "sent", "chunk" },
    { "train", "chunk", "chunks", "records", "number", "arrived_ns" },
    {},
    { "reason" },
}

-- A number of variable length: seven bits a byte, the lowest first, in up to 64 bits.
local function probe_number(cursor)
    local start, at = cursor.at, cursor.at
    local value, weight = 0, 1
    repeat
        if at >= cursor.to then
            malformed("records end early")
        elseif at >= cursor.tvb:captured_len() then
            error({ cut = true }, 0)
        end
        local byte = cursor.tvb(at, 1):uint()
        value, weight = value + byte % 0x80 * weight, weight * 0x80
        at = at + 1
        if at - start == 10 and byte > 1 then
            malformed("a number of more than 64 bits")
        end
    until byte < 0x80
    cursor.at = at
    return value
end

-- The records behind the first: how far each number is from the next in turn, and the time since
-- the arrival before.
local function probe_records(cursor, report)
    local number, arrived = report.number:uint(), tonumber(tostring(report.arrived_ns:uint64()))
    for _ = 2, report.records:uint() do
        local start = cursor.at
        local jump = probe_number(cursor)
        -- Zigzag: odd numbers lead back.
        number = number + 1 + (jump % 2 == 0 and jump / 2 or -(jump + 1) / 2)
        arrived = arrived + probe_number(cursor)
        if number < 0 or number > 0xffffffff or arrived >= 2 ^ 64 then
            malformed("a record is out of range")
        end
        local range = cursor.tvb(start, cursor.at - start)
        local item = cursor.tree:add(probe.fields.record.proto, range)
        item:append_text((": number %.0f, at %.0f ns"):format(number, arrived))
    end
end

over_udp(probe, "FWpb", sealed_message(probe, PROBE_HEAD, function(cursor, kind)
    local body = take_all(cursor, PROBE_BODIES[kind])
    if kind == PROBE_REPORT then
        probe_records(cursor, body)
    end
    cursor:take("padding", cursor:left())
    local text = ""
    for _, key in ipairs({ "train", "number", "chunk", "records" }) do
        if body[key] then
            text = text .. (", %s %u"):format(key, body[key]:uint())
        end
    end
    return text
end))

-- Several TCP connections. --------------------------------------------------------------------

local PREFACE, MARK = 20, 12
local BLOCK, END = 1, 2

local multi = format("fwmulti", "Multi-TCP", "Fairwave multi-connection SHAKE", {
    field("magic", "string", 4, "Magic"),
    field("version", "uint8", 1, "Version", { names = VERSIONS, must = "known" }),
    field("connection", "uint8", 1, "Connection"),
    field("connections", "uint8", 1, "Number of connections", { must = "not zero" }),
    field("reserved", "uint8", 1, "Reserved", { must = "zero" }),
    field("set", "uint64", 8, "Set", { base = base.HEX }),
    field("buffer", "uint32", 4, "Buffer"),
    field("kind", "uint8", 1, "Kind", { must = "known", names = { "Block", "End" } }),
    field("len", "uint16", 2, "Length of the block"),
    field("offset", "uint64", 8, "Offset", { must = "below 2^62" }),
    field("data", "bytes", nil, "Data"),
})

local function multi_preface(cursor)
    local preface = take_all(cursor, { "magic", "version", "connection", "connections",
        "reserved", "set", "buffer" })
    local connection, connections = preface.connection:uint(), preface.connections:uint()
    if connection >= connections then
        malformed(("connection %d of %d"):format(connection, connections))
    end
    return ("Preface of connection %d of %d"):format(connection, connections)
end

local function multi_mark(cursor)
    local mark = take_all(cursor, { "kind", "reserved", "len", "offset" })
    local length, offset = mark.len:uint(), mark.offset:uint64()
    if (mark.kind:uint() == BLOCK) ~= (length > 0) then
        malformed(("a length of %d does not fit the kind"):format(length))
    end
    cursor:take("data", length)
    if length == 0 then
        return ("End at %s"):format(offset)
    end
    return ("Block at %s, %d bytes"):format(offset, length)
end

local function is_preface(tvb, at)
    return tvb:captured_len() >= at + 4 and tvb(at, 4):string() == "FWmc"
end

-- Length of what begins at `at`. Behind what is neither preface nor mark, nothing is known.
local function multi_length(tvb, _, at)
    if is_preface(tvb, at) then
        return PREFACE
    end
    local kind = tvb(at, 1):uint()
    if kind == BLOCK then
        return MARK + tvb(at + 2, 2):uint()
    end
    return kind == END and MARK or tvb:reported_length_remaining(at)
end

local function multi_part(tvb, pinfo, tree)
    local read = is_preface(tvb, 0) and multi_preface or multi_mark
    local text = dissect(multi, tvb, pinfo, tree, read)
    pinfo.cols.info:append(" " .. text)
    return tvb:captured_len()
end

local function multi_segment(tvb, _, tree)
    dissect_tcp_pdus(tvb, tree, MARK, multi_length, multi_part)
    return tvb:captured_len()
end
multi.proto.dissector = multi_segment

-- A stream is known by its preface, and belongs to this protocol from there on.
multi.proto:register_heuristic("tcp", function(tvb, pinfo, tree)
    if not is_preface(tvb, 0) then
        return false
    end
    pinfo.conversation = multi.proto
    -- Through the protocol's dissector TCP would take it for one that cannot wait for segments.
    multi_segment(tvb, pinfo, tree)
    return true
end)
