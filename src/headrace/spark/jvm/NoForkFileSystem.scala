package headrace

import java.net.URI
import java.nio.file.Files
import java.nio.file.attribute.PosixFilePermission

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{LocalFileSystem, Path, RawLocalFileSystem}
import org.apache.hadoop.fs.permission.FsPermission

/**
 * Hadoop's local file system, without a `chmod` process for every file and directory that it makes.
 *
 * Hadoop sets permissions through its native library, which PySpark does not have, and otherwise through a shell: 40 to 60
 * processes for each micro-batch of a small query. Java can do it itself. `spark.hadoop.fs.file.impl` names this class.
 */
class NoForkFileSystem extends LocalFileSystem(new NoForkRawFileSystem) {
  override def initialize(name: URI, conf: Configuration): Unit = {
    super.initialize(name, conf)
    // Checkpoints are small, written whole and renamed; a second file with a checksum for each would double the work.
    setWriteChecksum(false)
  }
}

class NoForkRawFileSystem extends RawLocalFileSystem {
  override def setPermission(path: Path, permission: FsPermission): Unit = {
    val bits = permission.toShort
    val granted = java.util.EnumSet.noneOf(classOf[PosixFilePermission])
    NoForkRawFileSystem.Permissions.zipWithIndex.foreach { case (one, index) =>
      if ((bits & (1 << (8 - index))) != 0) granted.add(one)
    }
    Files.setPosixFilePermissions(pathToFile(path).toPath, granted)
  }
}

object NoForkRawFileSystem {

  /** From the owner's right to read, 0400, to everybody's right to execute, 0001: the order of the bits, and of the enumeration. */
  private val Permissions = PosixFilePermission.values()
}
