package headrace

import java.nio.charset.StandardCharsets.ISO_8859_1

import org.apache.spark.unsafe.types.UTF8String

/** A document, or a row, that is not of the usual form: whoever meets it asks Spark's own reader or writer. It has no stack, so it costs little. */
private[headrace] object Unusual extends RuntimeException("not of the usual form", null, false, false)

/**
 * JSON in UTF-8 bytes, read from left to right. Nothing is copied but strings with escapes.
 *
 * It takes only what every reader of JSON takes in the same way; everything else (broken text, numbers of unusual size, lone surrogates,
 * deep nesting) is `Unusual`.
 */
private[headrace] final class JsonBytes(data: Array[Byte]) {
  import JsonBytes._
  private val end = data.length
  private var at = 0
  private var depth = 0

  /** The byte that comes next, without taking it. */
  def peek: Byte = if (at < end) data(at) else throw Unusual

  /** Takes the next byte. */
  def next(): Byte = { val byte = peek; at += 1; byte }

  def expect(byte: Char): Unit = if (next() != byte) throw Unusual

  /** Skips white space, and returns the byte after it without taking it. */
  def visible(): Byte = {
    while (at < end && isSpace(data(at))) at += 1
    peek
  }

  /** Begins an object or an array. */
  def enter(bracket: Char): Unit = {
    expect(bracket)
    depth += 1
    if (depth > MaxDepth) throw Unusual
  }

  /** Whether another item follows; takes the comma, or the closing bracket and leaves. */
  def another(bracket: Char): Boolean = {
    visible()
    val byte = next()
    if (byte != ',' && byte != bracket) throw Unusual
    if (byte == bracket) depth -= 1
    byte == ','
  }

  /** Whether the object or array just begun is empty; leaves it then. */
  def empty(bracket: Char): Boolean = {
    val none = visible() == bracket
    if (none) { at += 1; depth -= 1 }
    none
  }

  def literal(text: String): Unit = {
    var i = 0
    while (i < text.length) { expect(text.charAt(i)); i += 1 }
  }

  /** Takes a null if one comes next. */
  def isNull: Boolean = { val found = peek == 'n'; if (found) literal("null"); found }

  def boolean(): Boolean = { val value = peek == 't'; literal(if (value) "true" else "false"); value }

  /** Takes a name and its colon: the index of the name, which is probably `expected`, or -1. */
  def name(names: Array[Array[Byte]], expected: Int): Int = {
    if (visible() != '"') throw Unusual
    at += 1
    val found = if (expected < names.length && isName(names(expected))) { at += names(expected).length + 1; expected } else otherName(names)
    visible()
    expect(':')
    visible()
    found
  }

  private def isName(name: Array[Byte]): Boolean = {
    val after = at + name.length
    after < end && data(after) == '"' && java.util.Arrays.equals(data, at, after, name, 0, name.length)
  }

  private def otherName(names: Array[Array[Byte]]): Int = {
    val start = at
    var plain = true
    while (peek != '"') {
      if (data(at) == '\\' || (data(at) >= 0 && data(at) < ' ')) throw Unusual
      plain &= data(at) > 0
      at += 1
    }
    val stop = at
    at = start
    var i = 0
    while (i < names.length && !isName(names(i))) i += 1
    at = stop + 1
    if (i < names.length) i else if (plain) -1 else throw Unusual
  }

  def string(): UTF8String = {
    expect('"')
    val start = at
    var plain = true
    while (peek != '"') {
      val byte = data(at)
      if (byte == '\\') return escaped(start)
      if (byte >= 0 && byte < ' ') throw Unusual
      plain &= byte > 0
      at += 1
    }
    at += 1
    valid(UTF8String.fromBytes(data, start, at - 1 - start), plain)
  }

  private def valid(text: UTF8String, plain: Boolean): UTF8String = if (plain || text.isValid) text else throw Unusual

  /** The rest of a string, from its first escape on. What an escape stands for is never longer than the escape. */
  private def escaped(start: Int): UTF8String = {
    val text = new Array[Byte](stringEnd() - start)
    var length = at - start
    System.arraycopy(data, start, text, 0, length)
    while (peek != '"') {
      val byte = next()
      if (byte == '\\') length = unescape(text, length)
      else if (byte >= 0 && byte < ' ') throw Unusual
      else { text(length) = byte; length += 1 }
    }
    at += 1
    valid(UTF8String.fromBytes(text, 0, length), plain = false)
  }

  private def stringEnd(): Int = {
    var i = at
    while (i < end && data(i) != '"') i += (if (data(i) == '\\') 2 else 1)
    if (i >= end) throw Unusual
    i
  }

  private def unescape(text: Array[Byte], length: Int): Int = {
    val code = next() match {
      case '"' => '"'.toInt
      case '\\' => '\\'.toInt
      case '/' => '/'.toInt
      case 'b' => '\b'.toInt
      case 'f' => '\f'.toInt
      case 'n' => '\n'.toInt
      case 'r' => '\r'.toInt
      case 't' => '\t'.toInt
      case 'u' => codePoint()
      case _ => throw Unusual
    }
    utf8(code, text, length)
  }

  private def codePoint(): Int = {
    val first = hex()
    if (!Character.isSurrogate(first)) return first
    expect('\\')
    expect('u')
    val second = hex()
    if (!Character.isSurrogatePair(first, second)) throw Unusual
    Character.toCodePoint(first, second)
  }

  private def hex(): Char = {
    var value = 0
    var i = 0
    while (i < 4) {
      val digit = Character.digit(next().toChar, 16)
      if (digit < 0) throw Unusual
      value = value * 16 + digit
      i += 1
    }
    value.toChar
  }

  /** A whole number of at most 18 digits. What is not whole fails at the sign or letter that follows. */
  def long(): Long = {
    val negative = peek == '-'
    if (negative) at += 1
    val value = digits(18)
    if (negative && value == 0) throw Unusual
    if (negative) -value else value
  }

  /** Digits without a leading zero. */
  private def digits(most: Int): Long = {
    val start = at
    val value = moreDigits(0L)
    if (at == start || at - start > most || (at - start > 1 && data(start) == '0')) throw Unusual
    value
  }

  private def moreDigits(before: Long): Long = {
    var value = before
    while (at < end && isDigit(data(at))) { value = value * 10 + (data(at) - '0'); at += 1 }
    value
  }

  /** Up to 15 digits are exact as a double, and so is the power of ten that they are divided by: the quotient is the nearest double. */
  def double(): Double = {
    val start = at
    val negative = peek == '-'
    if (negative) at += 1
    val whole = digits(MaxNumber)
    val point = at
    val isFraction = at < end && data(at) == '.'
    val mantissa = if (isFraction) fraction(whole) else whole
    val decimals = if (isFraction) at - point - 1 else 0
    val count = (point - start) + decimals
    if (count <= 15 && !(at < end && (data(at) | 0x20) == 'e')) {
      if (negative && !isFraction && mantissa == 0) throw Unusual
      val value = mantissa.toDouble / PowersOfTen(decimals)
      if (negative) -value else value
    } else parsed(start)
  }

  private def fraction(whole: Long): Long = {
    at += 1
    val start = at
    val value = moreDigits(whole)
    if (at == start) throw Unusual
    value
  }

  private def parsed(start: Int): Double = {
    exponent()
    if (at - start > MaxNumber) throw Unusual
    java.lang.Double.parseDouble(new String(data, start, at - start, ISO_8859_1))
  }

  private def exponent(): Unit =
    if (at < end && (data(at) | 0x20) == 'e') {
      at += 1
      if (peek == '+' || peek == '-') at += 1
      val start = at
      moreDigits(0L)
      if (at == start) throw Unusual
    }

  /** Passes over a value of any kind. */
  def skip(): Unit = visible() match {
    case '"' => skipString()
    case '{' => skipObject()
    case '[' => skipArray()
    case 't' | 'f' => boolean()
    case 'n' => literal("null")
    case _ => skipNumber()
  }

  private def skipString(): Unit = {
    expect('"')
    while (peek != '"') {
      val byte = next()
      if (byte == '\\') { if (next() == 'u') hex() else if (SimpleEscapes.indexOf(data(at - 1)) < 0) throw Unusual }
      else if (byte >= 0 && byte < ' ') throw Unusual
    }
    at += 1
  }

  private def skipObject(): Unit = {
    enter('{')
    if (!empty('}')) do {
      name(NoNames, 0)
      skip()
    } while (another('}'))
  }

  private def skipArray(): Unit = {
    enter('[')
    if (!empty(']')) do skip() while (another(']'))
  }

  private def skipNumber(): Unit = {
    val start = at
    if (peek == '-') at += 1
    digits(MaxNumber)
    if (at < end && data(at) == '.') fraction(0L)
    exponent()
    if (at - start > MaxNumber) throw Unusual
  }
}

private[headrace] object JsonBytes {
  private val MaxDepth = 200
  private val MaxNumber = 100
  private val SimpleEscapes = "\"\\/bfnrt"
  private val NoNames = Array.empty[Array[Byte]]
  private val PowersOfTen = Array.iterate(1.0, 16)(_ * 10)

  private def isSpace(byte: Byte): Boolean = byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t'

  private def isDigit(byte: Byte): Boolean = byte >= '0' && byte <= '9'

  /** Writes a code point at `length` and returns the new length. */
  private def utf8(code: Int, text: Array[Byte], length: Int): Int =
    if (code < 0x80) {
      text(length) = code.toByte
      length + 1
    } else if (code < 0x800) {
      text(length) = (0xc0 | (code >> 6)).toByte
      continuation(code, text, length + 1, 0)
    } else if (code < 0x10000) {
      text(length) = (0xe0 | (code >> 12)).toByte
      continuation(code, text, length + 1, 6)
    } else {
      text(length) = (0xf0 | (code >> 18)).toByte
      continuation(code, text, length + 1, 12)
    }

  private def continuation(code: Int, text: Array[Byte], length: Int, from: Int): Int = {
    var shift = from
    var i = length
    while (shift >= 0) {
      text(i) = (0x80 | ((code >> shift) & 0x3f)).toByte
      shift -= 6
      i += 1
    }
    i
  }
}
